// Package browser holds the tests of the API's pages in a real browser: Debian's Chromium, driven by Playwright from
// pages.mjs. The API that they show is the real one, on real Postgres.
//
// Chromium and Node.js are installed where that is allowed, and the packages of tools/npm are.
package browser
