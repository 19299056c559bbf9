"""The pytest plugin: rule files of a repository collected and verified as tests."""
