// Package door decides who may see the pages of sluice web. Own lets one user in, by a token that
// is used once and a cookie after it; Proxy takes the user's name from a reverse proxy, which the
// kernel identifies. Both send headers that keep other sites out of the pages.
package door
