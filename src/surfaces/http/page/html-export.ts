import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { PoolEntry } from '../../../views/page-export/value-pool.ts'
import { createPageReader } from './page-files.ts'

/*
 * A run as one HTML file.
 * 1. It makes no request: the policy allows nothing but its own script and style sheet, each by its hash.
 * 2. The data is compressed text in a script element that browsers do not execute; base64 has no `<`, so that nothing in it ends the element.
 */

const compress = promisify(gzip)

/** The page of the viewer with the data of a run inside. */
export async function htmlExport(data: readonly PoolEntry[]): Promise<string> {
  const read = createPageReader()
  const [script, styles] = await Promise.all([read('app.js'), read('app.css')])
  const code = inlineScript(script?.content ?? '')
  const sheet = (styles?.content ?? '').replaceAll('</', '<\\/')
  const packed = await compress(Buffer.from(JSON.stringify(data)))
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(code)}`,
    `style-src ${hashOf(sheet)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Troupe</title>
<style>${sheet}</style>
</head>
<body>
<div id="root"></div>
<script id="troupe-export" type="application/gzip;base64">${packed.toString('base64')}</script>
<script type="module">${code}</script>
</body>
</html>
`
}

/** Code in an element must not contain what ends the element; in the strings of the code both forms mean the same. */
function inlineScript(code: string): string {
  return code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
