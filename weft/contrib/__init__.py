"""`tf.contrib`: a package here for each of its libraries, imported when the program names it.

`tf.contrib.lookup` is `weft/contrib/lookup/`, and has what is exported to `"contrib.lookup"` as well; nothing
has to be entered in a table.
"""
