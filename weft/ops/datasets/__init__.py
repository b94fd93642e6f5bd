"""The ops of input pipelines: datasets as variants, and the iterators that walk them."""
