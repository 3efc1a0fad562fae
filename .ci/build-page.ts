// Writes the page to `dist/web`. Part of `npm run build`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { buildPage } from '../web/build.ts'

mkdirSync('dist/web', { recursive: true })
for (const [name, content] of Object.entries(await buildPage())) writeFileSync(`dist/web/${name}`, content)
