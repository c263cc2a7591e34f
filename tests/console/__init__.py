"""The console in Chromium, on a store in Delta tables (`make console-test`)."""
