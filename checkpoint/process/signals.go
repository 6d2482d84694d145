package process

import "syscall"

// Asking are the signals that a user can name for requests to save (--checkpoint-signal), by their names.
var Asking = map[string]syscall.Signal{"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "HUP": syscall.SIGHUP}
