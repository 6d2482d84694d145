package control

import "time"

// StreamsOfUser is how many streams one user may have open.
const StreamsOfUser = streamsOfUser

// SetStreamWrite changes how long a reader may keep a write waiting, until the function that it returns is
// called. No server may be open at either moment.
func SetStreamWrite(d time.Duration) func() {
	old := streamWrite
	streamWrite = d
	return func() { streamWrite = old }
}

// SetHeartbeat is the same for the time between two comments.
func SetHeartbeat(d time.Duration) func() {
	old := heartbeat
	heartbeat = d
	return func() { heartbeat = old }
}
