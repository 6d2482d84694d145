package book

// Pace returns how long an epoch of the trial takes, in seconds, by the times of its reports: of the
// first start from its begin on, of others from their first report on. 0 = not known.
func (t *Trial) Pace() float64 {
	var seconds, epochs float64
	for i, m := range t.Curve {
		from, at := 0.0, int64(0)
		switch {
		case i > 0 && t.Curve[i-1].Start == m.Start:
			from, at = t.Curve[i-1].Epoch, t.Curve[i-1].At
		case i == 0 && m.Start == 1 && !t.Begun.IsZero():
			at = t.Begun.UnixMilli()
		}
		if at > 0 && m.At > at && m.Epoch > from {
			seconds += float64(m.At-at) / 1000
			epochs += m.Epoch - from
		}
	}
	if epochs == 0 {
		return 0
	}
	return seconds / epochs
}
