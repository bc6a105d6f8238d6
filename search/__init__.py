"""One index over every text that a person owns: apps register their rows, the database finds them."""
