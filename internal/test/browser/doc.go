// Package browser holds the tests of the API's pages in a real browser: Debian's Chromium, driven
// by Playwright from pages.mjs. The API that they show is the real one, on real Postgres.
//
// Chromium and Node.js must be installed; the packages of tools/npm are installed when they are
// missing.
package browser
