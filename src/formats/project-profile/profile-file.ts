import { join } from 'node:path'
import { nearestNames, TroupeError } from '../../errors.ts'
import * as z from '../../schema/zod.ts'
import type { ConfigData } from '../config-file.ts'
import { readConfigData, toConfigFile } from '../config-file.ts'
import { openProjectFiles } from './project-files.ts'
import type { ProjectProfile } from './project-profile.ts'

export const PROFILE_PATH = '.troupe/profile.yaml'

const text = z.string().min(1).max(2000)
const decision = z.strictObject({
  title: text,
  path: z.string().max(500).default(''),
  summary: z.string().max(2000).default(''),
})
const practice = z.union([text.transform((each) => ({ text: each })), z.strictObject({ for: text.optional(), text })])

const profileFile = z.strictObject({
  project_type: text.optional(),
  tech_stack: z.array(text).max(100).optional(),
  architecture_decisions: z.array(decision).max(500).optional(),
  best_practices: z.array(practice).max(500).optional(),
})

/** The fields that `.troupe/profile.yaml` sets; `undefined` without the file. Throws `invalid_input` with the position of a problem. */
export async function readProfileFile(folder: string): Promise<Partial<ProjectProfile> | undefined> {
  const files = await openProjectFiles(folder)
  const names = (await files.list('.troupe')) ?? []
  if (!names.includes('profile.yaml')) return undefined
  const path = join(folder, PROFILE_PATH)
  if ((await files.read(PROFILE_PATH)) === undefined)
    throw profileError(`${path} cannot be read: it is outside of the project, larger than 256 KB, or no text file`, {
      hint: 'replace it by a small text file, or delete it',
    })
  const data = await readConfigData(toConfigFile(path))
  const parsed = profileFile.safeParse(data.value ?? {})
  if (!parsed.success) throw await describeIssue(data, parsed.error.issues[0], path)
  return toProfileFields(parsed.data)
}

function toProfileFields(file: z.output<typeof profileFile>): Partial<ProjectProfile> {
  const { best_practices, ...fields } = file
  const defined = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  return {
    ...defined,
    ...(best_practices && {
      best_practices: best_practices.map((each) =>
        'for' in each && each.for !== undefined ? { for: each.for, text: each.text } : { text: each.text },
      ),
    }),
  }
}

async function describeIssue(
  { locate }: ConfigData,
  issue: z.core.$ZodIssue | undefined,
  path: string,
): Promise<TroupeError> {
  if (issue?.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys
    const known = nearestNames(
      key,
      issue.path.length === 0 ? Object.keys(profileFile.shape) : ['title', 'path', 'summary', 'for', 'text'],
    )
    return profileError(`${await locate([...issue.path, key])}: unknown key '${[...issue.path, key].join('.')}'`, {
      hint: `did you mean '${known[0]}'? The keys are ${known.join(', ')}`,
      alternatives: known,
    })
  }
  const name = issue?.path.join('.') ?? ''
  const place = issue && issue.path.length > 0 ? await locate(issue.path) : `${path}:1:1`
  return profileError(`${place}: ${name === '' ? 'the file' : `'${name}'`} is invalid: ${issue?.message ?? ''}`, {
    hint: 'troupe profile prints a valid profile; docs/guide/project-profile.md describes the fields',
  })
}

function profileError(
  message: string,
  { hint, alternatives = [] }: { hint: string; alternatives?: string[] },
): TroupeError {
  return new TroupeError('invalid_input', message, { hint, alternatives, responsible: 'operator' })
}
