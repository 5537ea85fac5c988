"""Run actions: private folders, scheduling, the local runner."""
