import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { definePattern } from '../../entries/patterns.ts'
import { createTroupe } from '../../index.ts'
import * as z from '../../schema/zod.ts'
import { formatProfileFile, loadProjectProfile } from './load-project-profile.ts'
import type { ProjectProfile } from './project-profile.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function project(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe profile-'))
  folders.push(folder)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

const json = (value: unknown) => JSON.stringify(value)

test.each([
  [
    'a web application',
    { 'package.json': json({ dependencies: { next: '1', react: '1', '@prisma/client': '1' } }), 'tsconfig.json': '{}' },
    ['web application', 'TypeScript', 'Next.js', 'React', 'Prisma'],
  ],
  [
    'a service in Python',
    { 'requirements.txt': 'FastAPI==0.1\nSQLAlchemy>=2 # orm\n' },
    ['web service', 'Python', 'FastAPI', 'SQLAlchemy'],
  ],
  [
    'a tool in Python',
    {
      'pyproject.toml':
        '[project]\ndependencies = ["click>=8", "pydantic[email]~=2.0"]\n[project.scripts]\na = "b:c"\n',
    },
    ['command-line tool', 'Python', 'Click', 'Pydantic'],
  ],
  [
    'a service in Go',
    { 'go.mod': 'module x\nrequire (\n\tgithub.com/gin-gonic/gin v1.9.0\n\tgithub.com/jackc/pgx/v5 v5.1.0\n)\n' },
    ['web service', 'Go', 'Gin', 'PostgreSQL'],
  ],
  [
    'a library in Rust',
    { 'Cargo.toml': '[package]\nname = "x"\n[lib]\n[dependencies]\nserde = "1"\n' },
    ['library', 'Rust', 'Serde'],
  ],
  [
    'a service in Java',
    { 'pom.xml': '<dependency><artifactId>spring-boot-starter-web</artifactId></dependency>' },
    ['web service', 'Java', 'Spring Boot'],
  ],
  [
    'an Android app',
    { 'build.gradle.kts': 'plugins { id("com.android.application") }' },
    ['mobile application', 'Kotlin', 'Android'],
  ],
  ['a Rails application', { Gemfile: "gem 'rails', '~> 7'\ngem 'rspec'\n" }, ['web service', 'Ruby', 'Rails', 'RSpec']],
  [
    'a Laravel application',
    { 'composer.json': json({ require: { 'laravel/framework': '^11' } }) },
    ['web service', 'PHP', 'Laravel'],
  ],
  [
    'a service with its platform',
    {
      'package.json': json({ dependencies: { express: '4' } }),
      Dockerfile: 'FROM node',
      'docker-compose.yml': 'services:\n  db:\n    image: "postgres:16"\n  cache:\n    image: redis\n',
      '.github/workflows/ci.yml': 'on: push',
    },
    ['web service', 'JavaScript', 'Express', 'PostgreSQL', 'Redis', 'Docker', 'Docker Compose', 'GitHub Actions'],
  ],
  ['an empty folder', {}, ['unknown']],
])('PJ1 the profile of %s', async (_name, files, [type, ...stack]) => {
  const profile = await loadProjectProfile(project(files as Record<string, string>))
  expect(profile).toMatchObject({ project_type: type, tech_stack: stack, source: 'detected' })
})

test('PJ2 decision records have a title, a path and a summary', async () => {
  const record =
    '---\nstatus: accepted\n---\n# 7. Use PostgreSQL\n\nDate: 2024-01-01\n\n## Context\n\nWe need joins.\n\n## Decision\n\nWe store orders\nin PostgreSQL.\n\nMore.'
  const { architecture_decisions } = await loadProjectProfile(
    project({ 'docs/adr/0007-db.md': record, 'docs/adr/README.md': '# x' }),
  )
  expect(architecture_decisions).toEqual([
    { title: 'Use PostgreSQL', path: 'docs/adr/0007-db.md', summary: 'We store orders in PostgreSQL.' },
  ])
})

test('PJ3 rules of the contribution guide and linters are practices', async () => {
  const guide =
    '# Contributing\n\n## Coding rules\n\n- Write a test\n  for every fix.\n- **No any.** Use unknown instead.\n\n```sh\n- not a rule at all\n```\n\n## Thanks\n\n- to everybody who helped\n'
  const { best_practices } = await loadProjectProfile(project({ 'CONTRIBUTING.md': guide, 'biome.json': '{}' }))
  expect(best_practices).toEqual([
    { text: 'Write a test for every fix.' },
    { text: 'No any. Use unknown instead.' },
    { text: 'Code is formatted and linted with Biome.' },
  ])
})

test('PJ4 a field of the profile file wins, the others are detected; a written profile is read back the same', async () => {
  const folder = project({
    'go.mod': 'module x',
    '.troupe/profile.yaml':
      'project_type: bank\nbest_practices:\n  - Never log a PIN.\n  - for: security_expert\n    text: Use mTLS.\n',
  })
  const profile = await loadProjectProfile(folder)
  expect(profile).toEqual({
    project_type: 'bank',
    tech_stack: ['Go'],
    architecture_decisions: [],
    best_practices: [{ text: 'Never log a PIN.' }, { for: 'security_expert', text: 'Use mTLS.' }],
    source: 'file',
  })
  writeFileSync(join(folder, '.troupe/profile.yaml'), await formatProfileFile(profile))
  expect(await loadProjectProfile(folder)).toEqual(profile)
})

test.each([
  ['tech_stack: [a]\nproject_typ: x\n', ":2:1: unknown key 'project_typ'", 'project_type'],
  ['best_practices:\n  - fro: a\n    text: b\n', ':2:', undefined],
  ['tech_stack:\n  - 1\n', ":2:5: 'tech_stack.0' is invalid", undefined],
  ['a: [\n', ': invalid YAML', undefined],
  ['- a list\n', ':1:1: the file is invalid', undefined],
  [`a: ${'['.repeat(50_000)}`, 'invalid YAML', undefined],
])('PJ5 a wrong profile file is reported with its position: %j', async (text, message, nearest) => {
  const folder = project({ '.troupe/profile.yaml': text })
  const error = await loadProjectProfile(folder).catch((thrown) => thrown)
  expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining(message) })
  expect(error.message).toContain(join('.troupe', 'profile.yaml'))
  if (nearest !== undefined) expect(error.hint).toContain(`did you mean '${nearest}'`)
})

test('PJ6 hostile files are harmless', async () => {
  const outside = project({ 'secret.json': json({ dependencies: { next: '1' } }), 'adr/1.md': '# Stolen' })
  const folder = project({
    'composer.json': '{"require":'.repeat(20_000),
    'pyproject.toml': new Uint8Array([0, 1, 2, 255]),
    'Cargo.toml': 'serde = "1"\n'.repeat(100_000),
    'go.mod': 'x'.repeat(200_000),
    'requirements.txt': '-'.repeat(200_000),
    'AGENTS.md': `# Rules\n${'- '.repeat(100_000)}`,
    'docs/decisions/1.md': `# ${'a '.repeat(50_000)}`,
  })
  symlinkSync(join(outside, 'secret.json'), join(folder, 'package.json'))
  symlinkSync(join(outside, 'adr'), join(folder, 'adr'))
  execFileSync('mkfifo', [join(folder, 'Gemfile')])
  const profile = await loadProjectProfile(folder)
  expect(profile.tech_stack).toEqual(['Python', 'Go', 'PHP'])
  expect(profile.architecture_decisions).toHaveLength(1)
  expect(JSON.stringify(profile)).not.toMatch(/Next|Stolen/)
  expect(JSON.stringify(profile).length).toBeLessThan(5000)
})

test('PJ8 a pattern gets the profile of the workspace, or an empty one', async () => {
  const look = definePattern({
    name: 'look',
    description: 'looks',
    version: 1,
    category: 'perception',
    input: z.object({}),
    output: z.unknown(),
    execute: async (context) => ({
      success: true,
      output: await context.step(
        'profile',
        async () => ((await context.projectProfile()) as ProjectProfile).tech_stack,
      ),
    }),
  })
  const options = { config: false as const, store: 'memory', patterns: [look], embedder: false as const }
  const workspace = { workspace: project({ 'go.mod': 'module x' }) }
  for (const [given, expected] of [
    [{ workspace }, ['Go']],
    [{}, []],
  ] as const) {
    const troupe = await createTroupe({ ...options, ...given })
    expect((await troupe.run('look', {})).output).toEqual(expected)
    await troupe.close()
  }
})
