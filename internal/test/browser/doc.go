// Package browser holds the tests of the API's pages in a real browser: Debian's Chromium, driven
// by Playwright from pages.mjs. The API behind the pages is real, on real Postgres.
//
// Chromium and Node.js must be installed; the packages of tools/npm are installed if they are
// missing.
package browser
