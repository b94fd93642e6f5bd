"""Ops on strings: arrays of objects that are bytes, of any length and with any bytes in them."""
