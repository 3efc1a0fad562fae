import { isRecord, parseJson } from '../../schema/json-value.ts'
import type { PackageRole } from './known-packages.ts'
import { KNOWN_IMAGES, KNOWN_PACKAGES } from './known-packages.ts'
import type { ProjectFiles } from './project-files.ts'

/* Recognises type and stack of a project by its manifests. */

export interface DetectedStack {
  project_type: string
  tech_stack: string[]
}

interface Findings {
  languages: Set<string>
  stack: Set<string>
  roles: Set<PackageRole>
  /** `library`, `command-line tool` and the like, as a manifest says. */
  hints: Set<string>
}

type ManifestReader = (text: string, findings: Findings) => void

/** Where each manifest writes the names of packages. */
const QUOTED_NAMES = /["']([A-Za-z][\w.-]{0,80})(?:\[[\w,-]{0,80}\])?\s{0,3}(?:[<>=!~^;,][^"'\n]{0,120})?["']/g
const TOML_KEYS = /^([A-Za-z][\w.-]{0,80})\s{0,10}=/gm
const GO_MODULES = /^\s{0,8}(?:require\s{1,4})?([\w.-]{1,80}\/[\w./-]{1,120}?)(?:\/v\d{1,3})?\s+v\d/gm

const MANIFESTS: readonly (readonly [path: string, language: string, read: ManifestReader | RegExp])[] = [
  ['package.json', 'JavaScript', readPackageJson],
  ['deno.json', 'TypeScript', (_text, { stack }) => stack.add('Deno')],
  ['pyproject.toml', 'Python', readPyproject],
  ['requirements.txt', 'Python', /^([A-Za-z][\w.-]{0,80})/gm],
  ['Pipfile', 'Python', TOML_KEYS],
  ['setup.py', 'Python', QUOTED_NAMES],
  ['go.mod', 'Go', GO_MODULES],
  ['Cargo.toml', 'Rust', readCargo],
  ['pom.xml', 'Java', /<artifactId>([\w.-]{1,80})<\/artifactId>/g],
  ['build.gradle', 'Java', readGradle],
  ['build.gradle.kts', 'Kotlin', readGradle],
  ['Gemfile', 'Ruby', /^\s{0,8}gem\s{1,4}["']([\w-]{1,80})["']/gm],
  ['composer.json', 'PHP', readComposer],
  ['pubspec.yaml', 'Dart', /^\s{0,4}([\w-]{1,80}):/gm],
  ['mix.exs', 'Elixir', (text, { stack }) => void (/:phoenix\b/.test(text) && stack.add('Phoenix'))],
  ['Package.swift', 'Swift', () => {}],
  ['CMakeLists.txt', 'C or C++', () => {}],
]

export async function detectStack(files: ProjectFiles): Promise<DetectedStack> {
  const findings: Findings = { languages: new Set(), stack: new Set(), roles: new Set(), hints: new Set() }
  for (const [path, language, read] of MANIFESTS) {
    const text = await files.read(path)
    if (text === undefined) continue
    findings.languages.add(language)
    if (read instanceof RegExp) addPackages(names(text, read), findings)
    else read(text, findings)
  }
  if ((await files.read('tsconfig.json')) !== undefined || findings.stack.has('TypeScript')) {
    findings.languages.delete('JavaScript')
    findings.stack.delete('TypeScript')
    findings.languages.add('TypeScript')
  }
  if (((await files.list('.')) ?? []).some((name) => /\.(?:cs|fs)proj$|\.sln$/.test(name))) findings.languages.add('C#')
  const platforms = await detectPlatforms(files, findings)
  const tech_stack = [...findings.languages, ...findings.stack, ...platforms]
  return { project_type: projectType(findings, platforms), tech_stack: [...new Set(tech_stack)] }
}

function projectType({ languages, roles, hints }: Findings, platforms: readonly string[]): string {
  if (roles.has('mobile')) return 'mobile application'
  if (roles.has('desktop')) return 'desktop application'
  if (roles.has('web')) return 'web application'
  if (hints.has('monorepo') && !roles.has('server')) return 'monorepo'
  // A library that tests with a server framework is still a library.
  if (hints.has('command-line tool')) return 'command-line tool'
  if (roles.has('server')) return 'web service'
  if (roles.has('data')) return 'data or machine learning project'
  if (roles.has('tool')) return 'command-line tool'
  if (hints.has('library')) return 'library'
  if (languages.size > 0) return 'application'
  return platforms.length > 0 ? 'infrastructure' : 'unknown'
}

function addPackages(names: Iterable<string>, { stack, roles }: Findings): void {
  for (const name of names) {
    const known = KNOWN_PACKAGES.get(name.toLowerCase())
    if (!known) continue
    stack.add(known.label)
    roles.add(known.role)
  }
}

/** Packages that are only used in development do not say what the project is. */
function addTools(names: Iterable<string>, { stack }: Findings): void {
  for (const name of names) {
    const known = KNOWN_PACKAGES.get(name.toLowerCase())
    if (known?.role === 'other') stack.add(known.label)
  }
}

function keysOf(value: unknown): string[] {
  return isRecord(value) ? Object.keys(value) : []
}

function readPackageJson(text: string, findings: Findings): void {
  const manifest: Record<string, unknown> = Object(parseJson(text))
  addPackages([...keysOf(manifest.dependencies), ...keysOf(manifest.peerDependencies)], findings)
  addTools(keysOf(manifest.devDependencies), findings)
  if (manifest.workspaces !== undefined) findings.hints.add('monorepo')
  if (manifest.bin !== undefined) findings.hints.add('command-line tool')
  if (manifest.exports !== undefined || manifest.types !== undefined) findings.hints.add('library')
  const engine = (manifest.engines as Record<string, unknown> | undefined)?.node
  if (typeof engine === 'string') findings.stack.add('Node.js')
}

function readComposer(text: string, findings: Findings): void {
  const manifest: Record<string, unknown> = Object(parseJson(text))
  addPackages(keysOf(manifest.require), findings)
  addTools(keysOf(manifest['require-dev']), findings)
  if (manifest.type === 'library') findings.hints.add('library')
}

/** `"fastapi[all]>=0.1"` in a list, and `fastapi = "^0.1"` of Poetry. */
function readPyproject(text: string, findings: Findings): void {
  addPackages([...names(text, QUOTED_NAMES), ...names(text, TOML_KEYS)], findings)
  if (/^\[(?:project|tool\.poetry)\.scripts\]/m.test(text)) findings.hints.add('command-line tool')
  else if (/^\[project\]/m.test(text)) findings.hints.add('library')
}

const names = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1] ?? '')

function readCargo(text: string, findings: Findings): void {
  addPackages(names(text, TOML_KEYS), findings)
  if (/^\[lib\]/m.test(text)) findings.hints.add('library')
  if (/^\[workspace\]/m.test(text)) findings.hints.add('monorepo')
}

function readGradle(text: string, findings: Findings): void {
  addPackages(names(text, /["'][\w.-]{1,80}:([\w.-]{1,80})(?::[^"'\n]{0,40})?["']/g), findings)
  if (/com\.android\.application/.test(text)) {
    findings.stack.add('Android')
    findings.roles.add('mobile')
  }
  if (/org\.springframework\.boot/.test(text)) addPackages(['spring-boot'], findings)
}

async function detectPlatforms(files: ProjectFiles, { stack }: Findings): Promise<string[]> {
  const found: string[] = []
  const root = (await files.list('.')) ?? []
  const has = (pattern: RegExp) => root.some((name) => pattern.test(name))
  if (has(/^(?:Dockerfile|Containerfile)(?:\.|$)/)) found.push('Docker')
  const compose = root.find((name) => /^(?:docker-)?compose\.ya?ml$/.test(name))
  if (compose !== undefined) {
    found.push('Docker Compose')
    const images = names((await files.read(compose)) ?? '', /^\s{0,20}image:\s{0,4}["']?([\w./:@-]{1,120})/gm)
    for (const image of images) for (const [word, label] of KNOWN_IMAGES) if (word.test(image)) stack.add(label)
  }
  if (has(/\.tf$/) || ((await files.list('terraform')) ?? []).length > 0) found.push('Terraform')
  if (has(/^(?:k8s|kubernetes|helm|charts|Chart\.yaml)$/)) found.push('Kubernetes')
  if (((await files.list('.github/workflows')) ?? []).some((name) => /\.ya?ml$/.test(name)))
    found.push('GitHub Actions')
  if (has(/^\.gitlab-ci\.yml$/)) found.push('GitLab CI')
  if (has(/^Jenkinsfile$/)) found.push('Jenkins')
  if (has(/^azure-pipelines\.yml$/)) found.push('Azure Pipelines')
  if (((await files.list('.circleci')) ?? []).length > 0) found.push('CircleCI')
  return found
}
