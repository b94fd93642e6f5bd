"""Variables: both kinds, the scopes that name and share them, and what initialises, checks and changes them."""

import weft.variables.assignment
import weft.variables.collections
import weft.variables.creation
import weft.variables.listing
import weft.variables.partitioning
import weft.variables.scope
import weft.variables.store
import weft.variables.template  # noqa: F401
