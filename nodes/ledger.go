package nodes

// Ledger is an inventory with bookings. It finds nodes by name in constant time, while
// With, Charge and the like search for them in every call.
type Ledger struct {
	// Nodes is the inventory with all bookings so far. Names and order MUST NOT be
	// changed.
	Nodes []Node
	at    map[string]int // nil for few nodes, which are searched one by one
}

// few is the largest number of nodes that are searched one by one rather than indexed.
const few = 8

// NewLedger returns a ledger over a copy of the inventory.
func NewLedger(inventory []Node) *Ledger {
	l := &Ledger{Nodes: append([]Node(nil), inventory...)}
	if len(inventory) <= few {
		return l
	}
	l.at = make(map[string]int, len(inventory))
	for i, n := range inventory {
		l.at[n.Name] = i
	}
	return l
}

// Clone returns an independent ledger over the same nodes.
func (l *Ledger) Clone() *Ledger { return l.Over(l.Nodes) }

// Over returns a ledger over a copy of another view of the same inventory: the
// same nodes in the same order.
func (l *Ledger) Over(view []Node) *Ledger {
	return &Ledger{Nodes: append([]Node(nil), view...), at: l.at}
}

// Index returns the position of the node in Nodes, and false if it is not there.
func (l *Ledger) Index(name string) (int, bool) {
	if l.at != nil {
		i, ok := l.at[name]
		return i, ok
	}
	for i := len(l.Nodes) - 1; i >= 0; i-- {
		if l.Nodes[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// Node returns the node of that name; nil if there is none.
func (l *Ledger) Node(name string) *Node {
	if i, ok := l.Index(name); ok {
		return &l.Nodes[i]
	}
	return nil
}

// Charge books the loads as used. Nodes that a load names and the inventory does not have
// are ignored.
func (l *Ledger) Charge(loads ...Load) { l.shift(1, loads) }

// Credit subtracts the loads from what is used. Nothing falls below zero.
func (l *Ledger) Credit(loads ...Load) { l.shift(-1, loads) }

func (l *Ledger) shift(sign int, loads []Load) {
	for _, load := range loads {
		load.shift(sign, l.Node)
	}
}
