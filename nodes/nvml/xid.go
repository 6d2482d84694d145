package nvml

// hardware lists the critical errors (XIDs) after which a GPU should not run another job
// before it was reset or inspected, and the meaning of each. It follows NVIDIA's
// catalogue, https://docs.nvidia.com/deploy/xid-errors/: the errors for which it asks for
// an immediate reset of the GPU, a restart of the machine or an inspection of memory or
// links, and 92, for which it says to contact support.
//
// Left out deliberately, because the GPU is fit for the next program:
//   - faults of the program, and their consequences: 13 and 31 (it used memory
//     that is not its own), 43 and 45 (its channel was ended), 68, 69 and 109 (which
//     hung programs cause as well);
//   - 63: a bad row was recorded and is replaced at the next reset; until then the
//     driver keeps programs off it;
//   - 94: an uncorrectable error was contained: it ended the one program it hit.
//     If memory fails permanently, State's counters show it.
var hardware = map[int]string{
	46:  "it stopped processing",
	48:  "double-bit memory error",
	62:  "its microcontroller halted",
	64:  "a bad memory row could not be replaced",
	74:  "NVLink error",
	79:  "fallen off the bus",
	92:  "too many corrected memory errors",
	95:  "uncontained memory error",
	110: "security processor fault",
	119: "its system processor does not answer",
	120: "error of its system processor",
	136: "link training failed",
	140: "unrecovered memory error",
	143: "it could not be initialised",
	155: "NVLink error",
	156: "a part of it was retired",
	158: "fatal timeout",
}
