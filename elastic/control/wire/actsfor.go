package wire

// ActsFor is the header of a request by which the account of the site's web program ([web] user) names
// the user that it acts for. sluiced then answers as it would answer that user. Over TCP, and from any
// other account, it is refused.
const ActsFor = "X-Sluice-User"
