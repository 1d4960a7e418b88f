"""The referee: it puts the questions, hears each answer once, and runs anyone's algorithm in a process of its own."""
