// Package lane is what `sluice lane` does inside a lane of a sweep: it runs trials one after the
// other. It is the program of an ordinary job, so everything that sluice does with jobs, it does
// with lanes: a request to save is answered once the trial has saved and ended, and the trial goes
// on elsewhere, or here.
//
// A lane asks for a trial by a file, gets it by another, and runs the user's script with the
// trial's parameters under a `sluice run` of its own, in the folder of the trial. What happens is
// written down BEFORE it takes effect, line by line. It never calls Slurm and connects to nothing.
//
// A lane that starts again does not go on with the trial it had: it asks anew. sluiced then hands
// the trial to it or to another lane, and nothing that was told to an earlier lane, or to an earlier
// run of this one, can be opened any more. So no trial runs twice at once.
//
// A lane that runs several trials at once (sweep.PerGPU) is a hub: it starts a process for each, a slot, which
// does all of this by itself, and speaks for them with the runner of the job.
package lane
