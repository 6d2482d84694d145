// Package share divides the GPUs of a cluster between accounts and their users by shares.
//
// The tree is Slurm's association tree: accounts, their sub-accounts, and users, each with
// shares that count among its siblings. Slurm's Fairshare=parent is Association.Inherits.
//
// Deserved is hierarchical weighted max-min fairness over those that want GPUs now (water
// filling; Bertsekas and Gallager, Data Networks, section 6.5.2; for the tree Bhattacharya et
// al., Hierarchical Scheduling for Diverse Datacenter Workloads, SoCC 2013, with one resource):
// no user is given more than it wants, and nothing is left while any user wants more. With one
// resource, max-min fairness is also strategy-proof, as dominant resource fairness is with
// several (Ghodsi et al., NSDI 2011): a user that claims more than it can use gets no more that
// it can use, and takes nothing from the part that the shares of others give them. What the
// division cannot prevent: a user that splits its work over several accounts has the shares of
// all of them, and one whose jobs keep GPUs without using them counts as wanting them.
//
// A caller makes a Tree once for each answer of Slurm (New), or takes that of the configuration
// (Own.Tree), and keeps it: it does not change. For each decision it calls Deserved for what each user
// should have if everything could be taken back, and Bounds for what each should have now, when
// started jobs keep their minimums. Of the books, Ledger.Pass MUST be called BEFORE Book for the
// same time, and both BEFORE Credit is read for the next decision.
//
// GPUs are whole. Each account rounds the parts of its members by largest remainder. As with
// every such method, a cluster with one GPU more may give one member one GPU less (the Alabama
// paradox; Balinski and Young, Fair Representation, 1982); more shares of its own never do.
package share
