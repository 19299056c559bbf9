"""The law against what others wrote: the same programs, given to both."""
