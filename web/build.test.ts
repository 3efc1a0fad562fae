import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { buildPage } from './build.ts'

const LIMIT = 400_000

test('WB21 the page is one script and one style sheet of at most 400 KB compressed, which load nothing else', async () => {
  const page = await buildPage()
  const sizes = Object.values(page).map((text) => gzipSync(text).length)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(LIMIT)
  expect(page['app.js']).not.toMatch(/(^|[;}])import[ {"']|\bimport\(|\brequire\(/m)
  expect(page['app.css']).not.toMatch(/@import|url\((?!["']?data:)/)
  const addresses = [...page['index.html'].matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address)
  expect(addresses).toEqual([expect.stringMatching(/^data:image\/svg\+xml,/), '/app.css', '/app.js'])
})
