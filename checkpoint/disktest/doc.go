// Package disktest reports to a test every system call that changes files, BEFORE the
// kernel carries it out. The test can make the call fail, put something in its way, or
// compute what a power loss would leave behind.
package disktest
