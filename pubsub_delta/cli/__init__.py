"""The command line: ``pubsub-delta`` says what ``gcloud pubsub`` says, to a store in Delta."""
