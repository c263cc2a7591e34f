"""The tables of a store: Delta tables in, DataFrames and values of ``policy`` out."""
