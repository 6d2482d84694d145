package report

import "strconv"

// brief writes a span without what is nought: 30 s, 8 min, 1.4 s.
func brief(s Seconds) string {
	if s >= 120 && s == Seconds(int64(s)) && int64(s)%60 == 0 {
		return strconv.FormatInt(int64(s)/60, 10) + " min"
	}
	return strconv.FormatFloat(float64(s), 'f', -1, 64) + " s"
}

// costs is the price of a restart in a few words.
func (s Summary) costs() string {
	if s.ByModel {
		return brief(s.Restart) + " in the mean"
	}
	return brief(s.Restart)
}
