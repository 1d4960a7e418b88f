"""Hidden sets: instances drawn from a published law and a secret seed, whose hash is published first."""
