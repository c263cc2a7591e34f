"""REST: google.pubsub.v1 as JSON over HTTP/1.1, at the port of gRPC."""
