"""`tf.contrib`: a package here for each of its libraries, imported when the program names it.

`tf.contrib.lookup` is `weft/contrib/lookup/`, and has what is exported to `"contrib.lookup"` as well; nothing
has to be entered in a table. A library that others import says `export.as_namespace(__name__)`, as this does.
"""

from weft.framework import export as _export

_export.as_namespace(__name__)
