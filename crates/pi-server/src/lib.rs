//! Serve clients: WebSocket, stdio, HTTP.
