// Builds the page: one script and one style sheet, without requests to other hosts. `npm run build` writes it to `dist/web`; from a checkout the
// server builds it in memory.
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The first style sheets of the cascade; those of the other folders follow in the order of their names. */
const FIRST_STYLE_SHEETS = ['design/tokens.css', 'design/base.css', 'design/components.css']

export interface PageFiles {
  'index.html': string
  'app.js': string
  'app.css': string
}

/** `entry` is another page of this folder, such as the swimlanes alone. */
export async function buildPage(entry = 'main.tsx'): Promise<PageFiles> {
  const [html, script, styles] = await Promise.all([
    readFile(at('index.html'), 'utf8'),
    bundleScript(entry),
    readStyles(),
  ])
  return { 'index.html': html, 'app.js': script, 'app.css': styles }
}

async function bundleScript(entry: string): Promise<string> {
  await using bundle = await rolldown({
    input: at(entry),
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' }, jsx: { runtime: 'automatic' } },
  })
  const { output } = await bundle.generate({ format: 'esm', minify: true, codeSplitting: false })
  return output[0].code
}

async function readStyles(): Promise<string> {
  const names = await readdir(at('.'), { recursive: true })
  const found = names.map((name) => name.replaceAll('\\', '/')).filter((name) => name.endsWith('.css'))
  const others = found.filter((name) => !FIRST_STYLE_SHEETS.includes(name)).sort()
  const sheets = await Promise.all([...FIRST_STYLE_SHEETS, ...others].map((path) => readFile(at(path), 'utf8')))
  return sheets.join('\n')
}
