"""How it is kept: Delta tables in, DataFrames and policy's values out."""
