package page

import "github.com/sluice-hpc/sluice/elastic/control/wire"

// sharesView is how the GPUs are divided by shares.
type sharesView struct {
	At int64
	wire.Shares
	Lines []shareLine
	More  int
}

// shareLine is an account or a user, with the widths of its bars in percent of all GPUs.
type shareLine struct {
	wire.Share
	DeservedPart, UsedPart, WantedPart int
}

// maxShares bounds the lines of the page.
const maxShares = 500

func (p *Pages) shares(v *visit) (*sheet, error) {
	s, err := v.daemon.Shares(v.Context())
	if err != nil {
		return nil, err
	}
	view := sharesView{At: s.At.Unix(), Shares: s}
	for i, l := range s.Lines {
		if i == maxShares {
			view.More = len(s.Lines) - maxShares
			break
		}
		all := float64(s.GPUs)
		view.Lines = append(view.Lines, shareLine{l, percent(float64(l.Deserved), all), percent(float64(l.Used), all), percent(float64(l.Wanted), all)})
	}
	return &sheet{name: "shares", title: "Shares", view: view, refresh: true}, nil
}
