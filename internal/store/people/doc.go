// Package people stores tenants with their keys and bans, and finds what a word names.
//
// Of a key it knows the digest alone, which only functions of Postgres may read.
package people
