package control

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/past"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
)

const (
	// pastPart is how many rows are read in one call.
	pastPart = 500
	// pastCells bounds the nodes or the shares in one page, over all its samples: some 20 MB of JSON.
	pastCells = 200_000
)

// query is the part of the history that a request asks for, from its cursor on.
func (a pastAsked) query(kind past.Kind) past.Query {
	q := past.Query{Kind: kind, From: a.from, To: a.to, Job: a.job, Most: pastPart}
	if a.cursor.Nano != 0 {
		q.AfterAt, q.AfterID = time.Unix(0, a.cursor.Nano), a.cursor.ID
	}
	return q
}

// pastEntries calls each with the entries that the caller may see and asked for, until it has accepted as
// many as the page may have.
func (s *Server) pastEntries(ctx context.Context, q request, asked pastAsked, kind past.Kind, each func(past.Entry) error) (*pastCursor, error) {
	query := asked.query(kind)
	rows, scanned := 0, 0
	for {
		part, err := s.service.Entries(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, e := range part {
			scanned++
			if (asked.user == "" || e.User == asked.user) && q.seesJobsOf(e.UID) {
				if err := each(e); err != nil {
					return nil, err
				}
				rows++
			}
			if rows == asked.limit || scanned == pastScan {
				return &pastCursor{Of: asked.of, Nano: e.At.UnixNano(), ID: e.ID}, nil
			}
		}
		if len(part) < query.Most {
			return nil, nil
		}
		last := part[len(part)-1]
		query.AfterAt, query.AfterID = last.At, last.ID
	}
}

// pastMoves fills a page of moves that were opened in the range and have ended.
func (s *Server) pastMoves(ctx context.Context, q request, asked pastAsked, out *wire.Past) (*pastCursor, error) {
	out.Moves = []wire.PastMove{}
	return s.pastEntries(ctx, q, asked, past.Moves, func(e past.Entry) error {
		var m past.Move
		if err := json.Unmarshal(e.Body, &m); err != nil {
			return err
		}
		row := wire.PastMove{JobID: int64(e.Job), User: e.User, Kind: string(m.Kind), From: placement(m.From), Target: placement(m.Target),
			Cause: say.Reason(m.Cause.Reason, e.At), Why: m.Cause, Opened: e.At, Closed: m.Closed, Outcome: string(m.Outcome),
			Result: say.Reason(m.Why.Reason, m.Closed), Closing: m.Why, Step: int(m.Step)}
		row.Save, row.Stop, row.Wait, row.Start = m.Cost()
		out.Moves = append(out.Moves, row)
		return nil
	})
}

// pastDecisions fills a page of decisions.
func (s *Server) pastDecisions(ctx context.Context, q request, asked pastAsked, out *wire.Past) (*pastCursor, error) {
	out.Decisions = []wire.PastDecision{}
	return s.pastEntries(ctx, q, asked, past.Decisions, func(e past.Entry) error {
		var d past.Decision
		if err := json.Unmarshal(e.Body, &d); err != nil {
			return err
		}
		row := wire.PastDecision{At: e.At, JobID: int64(e.Job), User: e.User, GPUs: d.Has, Target: d.Target.GPUs(),
			Reason: say.Reason(d.Why.Reason, e.At), Why: reason.Value{Reason: d.Why.Reason}}
		if row.Target > 0 {
			row.Nodes = d.Target.String()
		}
		out.Decisions = append(out.Decisions, row)
		return nil
	})
}

// pastSamples calls each with the samples of the range; it returns how many cells each added to the page.
func (s *Server) pastSamples(ctx context.Context, asked pastAsked, kind past.Kind, each func(past.Sample) (cells int, err error)) (*pastCursor, error) {
	query := asked.query(kind)
	query.Most = min(query.Most, asked.limit)
	rows, cells := 0, 0
	for {
		part, err := s.service.Samples(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, sample := range part {
			n, err := each(sample)
			if err != nil {
				return nil, err
			}
			if rows, cells = rows+1, cells+n; rows == asked.limit || cells >= pastCells {
				return &pastCursor{Of: asked.of, Nano: sample.At.UnixNano()}, nil
			}
		}
		if len(part) < query.Most {
			return nil, nil
		}
		query.AfterAt = part[len(part)-1].At
	}
}

// pastNodes fills a page of samples of the cluster.
func (s *Server) pastNodes(ctx context.Context, asked pastAsked, out *wire.Past) (*pastCursor, error) {
	out.Clusters = []wire.PastCluster{}
	return s.pastSamples(ctx, asked, past.Clusters, func(sample past.Sample) (int, error) {
		var c past.Cluster
		if err := json.Unmarshal(sample.Body, &c); err != nil {
			return 0, err
		}
		row := wire.PastCluster{At: sample.At, Seconds: sample.Seconds, Running: c.Running, Waiting: c.Waiting, Moves: c.Moves, Blind: c.Blind, Nodes: make([]wire.PastNode, 0, len(c.Nodes))}
		for _, n := range c.Nodes {
			row.GPUs, row.Used, row.Elastic, row.Free = row.GPUs+n.GPUs, row.Used+n.Used, row.Elastic+n.Elastic, row.Free+n.Free
			row.Nodes = append(row.Nodes, wire.PastNode{Name: n.Name, GPUs: n.GPUs, Used: n.Used, Elastic: n.Elastic, Usable: n.State == "", State: n.State})
		}
		out.Clusters = append(out.Clusters, row)
		return len(c.Nodes), nil
	})
}

// pastShares fills a page of divisions by shares: of all accounts, and of the users that the caller may
// see.
func (s *Server) pastShares(ctx context.Context, q request, asked pastAsked, out *wire.Past) (*pastCursor, error) {
	out.Shares = []wire.PastShares{}
	return s.pastSamples(ctx, asked, past.Shares, func(sample past.Sample) (int, error) {
		var d past.Division
		if err := json.Unmarshal(sample.Body, &d); err != nil {
			return 0, err
		}
		row := wire.PastShares{At: sample.At, Seconds: sample.Seconds, GPUs: d.GPUs, Lines: []wire.PastShare{}}
		for _, l := range d.Lines {
			if l.User == "" || q.seesUser(l.User) {
				row.Lines = append(row.Lines, wire.PastShare{Account: l.Account, User: l.User, Deserved: l.Deserved, Used: l.Used, Wanted: l.Wanted})
			}
		}
		out.Shares = append(out.Shares, row)
		return len(d.Lines), nil
	})
}
