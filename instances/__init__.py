"""What is asked: instance models, file formats and generators. Data only: no solver, no algorithm."""
