package engine

// Exited reports whether a runner has reported since the last cycle that its run is over. It
// reads one small file for each running job and does not query Slurm. It is always false
// unless Config.Listen is set.
func (e *Engine) Exited() bool {
	if !e.cfg.Listen {
		return false
	}
	for _, js := range e.Jobs {
		if !js.Listened() {
			continue
		}
		word, ok, err := e.Observer.Mail.Runner(js.Rec.Token, js.Rec.SlurmUID)
		if err == nil && ok && js.Shown.OverBy(word) && js.Mail.Exited.Of != word.Restarts+1 {
			return true
		}
	}
	return false
}
