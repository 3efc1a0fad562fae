/** The path under which the page is served, without a slash at its end: that of its script. Empty for the root, and outside of a page. */
export const pagePath = 'document' in globalThis ? new URL(import.meta.url).pathname.replace(/\/[^/]*$/, '') : ''
