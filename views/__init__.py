"""What a view is: SQL in, a program of rules out; the errors that every part shares."""
