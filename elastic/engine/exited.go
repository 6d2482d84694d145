package engine

// Exited reports whether a runner has said since the last cycle that its run is over. It
// reads one small file for each running job and asks Slurm nothing. Always false unless
// Config.Listen is set.
func (e *Engine) Exited() bool {
	if !e.cfg.Listen {
		return false
	}
	for _, js := range e.jobs {
		if !js.listened() {
			continue
		}
		word, ok, err := e.cfg.Mailbox.Runner(js.rec.Token, js.rec.UID)
		if err == nil && ok && js.shown.overBy(word) && js.mail.exited.of != word.Restarts+1 {
			return true
		}
	}
	return false
}
