// Replaces `dist/schema/zod.js` by a bundle of the names that it exports. The zod package itself loads a hundred modules, half
// of them translations. Part of `npm run build`.
import { readFileSync } from 'node:fs'
import { rolldown } from 'rolldown'

const file = 'dist/schema/zod.js'
const license = readFileSync('node_modules/zod/LICENSE', 'utf8').trim()

await using bundle = await rolldown({ input: file })
await bundle.write({ file, format: 'esm', banner: `/*!\n * zod\n *\n${license.replace(/^/gm, ' * ')}\n */` })
