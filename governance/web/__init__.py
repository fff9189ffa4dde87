"""Pages for people, and the live socket."""
