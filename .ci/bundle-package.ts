// Bundles the JavaScript that the compiler wrote to `dist`: a first run reads 15 files of it instead of 400. Declarations stay as
// they are. Part of `npm run build`; see docs/decisions/0037-bundle-the-package.md.
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, relative } from 'node:path'
import type { Plugin } from 'rolldown'
import { rolldown } from 'rolldown'

// The bundler names modules by their real path.
const dist = realpathSync('dist')

/** Stays as the compiler wrote it, so that a Node that is too old can read it (P30). Its `await` would turn off merging of chunks. */
const PROGRAM = 'surfaces/cli/main.js'

/** Modules that are found by their path: by package.json, by the program, or by the URL of a worker or process. */
const ENTRIES = [
  'index',
  'entries/patterns',
  'entries/models',
  'entries/inspect',
  'testing/index',
  'surfaces/http/index',
  'runtime/node-version',
  'surfaces/cli/inert-output',
  'surfaces/cli/program',
  'surfaces/cli/terminal',
  'knowledge/embedding-worker',
  'tools/sandbox/command-watchdog',
]

/**
 * Modules that belong into one chunk, with all that they import statically; the first group that has a module keeps it. A group
 * must not have what only some programs load. All other modules are split by who imports them.
 */
const GROUPS = {
  'node-version': ['runtime/node-version'],
  // The root is one file, whoever else imports a module of it.
  index: ['index', 'entries/patterns', 'entries/models'],
  inspect: ['entries/inspect'],
  // Read by nearly every part, also by the watchdog of commands.
  'json-value': ['schema/json-value'],
  create: [
    'runtime/compose',
    'runtime/config/apply-config',
    'runtime/queries',
    'runtime/run-reader',
    'runtime/troupe-knowledge',
  ],
  // Needed by the first run, but also without a run: by the watchdog of commands, by agent files, and to check options.
  paths: ['judgement/permission/glob-matcher', 'tools/files/protected-paths'],
  permission: ['judgement/permission/permission-policy', 'judgement/permission/rule-lint'],
  limits: ['kernel/run-input'],
  // The definitions of the others are imported with their first run or session.
  patterns: [
    'runtime/pattern-registry',
    ...['task/task', 'collaborate/collaborate', 'consult/consult', 'ask-user/ask-user'].map(
      (name) => `patterns/${name}`,
    ),
  ],
  'first-run': ['knowledge/local-embedder', 'runtime/compose-execution', 'runtime/run-controller', 'runtime/run-host'],
}

function codeSplittingGroups() {
  const groups = Object.entries(GROUPS).map(([name, modules]) => {
    const files = new Set(modules.map((module) => join(dist, `${module}.js`)))
    // A name that is no module any more would silently split the group.
    for (const file of files) readFileSync(file)
    return { name, test: (id: string) => files.has(id) }
  })
  return [{ name: 'zod', test: /[\\/]node_modules[\\/]zod[\\/]/ }, ...groups]
}

/** Keeps `import.meta.url` what it is without bundling: agents, workers and the page are found relative to it, and not from a chunk. */
function originalUrls(): Plugin {
  return {
    name: 'original-urls',
    transform: (code, id) =>
      id.startsWith(dist) && code.includes('import.meta.url')
        ? code.replaceAll('import.meta.url', `ORIGINAL_URL(${JSON.stringify(relative(dist, id))})`)
        : null,
    renderChunk: (code, { fileName }) =>
      code.replaceAll(/ORIGINAL_URL\("(.+?)"\)/g, (_, module: string) => {
        // As it was, so that it still notices when somebody bundles the package in turn.
        if (module === fileName) return 'import.meta.url'
        const path = JSON.stringify(relative(dirname(fileName), module))
        // Not the form by which bundlers recognise files to copy: this one is not where it was.
        return `new URL(${path}, String(import.meta.url)).href`
      }),
  }
}

/** Keeps the bundlers of programs from looking for what only a running program knows: a configuration file, a package with programs. */
function runTimeImports(): Plugin {
  const ignored = 'import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ '
  return {
    name: 'run-time-imports',
    renderChunk: (code) => code.replaceAll(/(?<!["'`])\bimport\((?=[\w$])/g, ignored),
  }
}

const license = readFileSync('node_modules/zod/LICENSE', 'utf8').trim()
const zodBanner = `/*!\n * zod\n *\n${license.replace(/^/gm, ' * ')}\n */`

await using bundle = await rolldown({
  input: Object.fromEntries(ENTRIES.map((name) => [name, join(dist, `${name}.js`)])),
  platform: 'node',
  // Packages stay outside, but for the part of zod that is used (decision 0020).
  external: (id) => !id.startsWith('.') && !isAbsolute(id) && !/^zod(\/|$)/.test(id),
  plugins: [originalUrls(), runTimeImports()],
  checks: { ineffectiveDynamicImport: false },
  onwarn(warning) {
    throw new Error(warning.message)
  },
})
const { output } = await bundle.generate({
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name].js',
  // Names in the chunks are those of the sources, and so are those in stack traces.
  minifyInternalExports: false,
  banner: ({ name }) => (name === 'zod' ? zodBanner : ''),
  // The declarations have them.
  comments: { jsdoc: false },
  codeSplitting: { groups: codeSplittingGroups() },
})

for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' }))
  if (/\.js(on)?$/.test(name) && name !== PROGRAM && !name.startsWith('web')) rmSync(join(dist, name))
for (const file of output) {
  const path = join(dist, file.fileName)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, file.type === 'chunk' ? file.code : file.source)
}
