// Package attempts counts the denied calls of a confined job, outside of its fence.
//
// The sluice program is the first that runs inside (Guard). It installs the filter with a listener, hands the
// listener out and becomes the script. Outside, a Watch answers each denied call with its error, and counts
// it BEFORE it answers. It never lets a call through, and while it answers it waits for no disk.
package attempts
