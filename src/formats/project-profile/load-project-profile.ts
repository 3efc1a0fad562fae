import { detectDecisions, detectPractices } from './detect-decisions.ts'
import { detectStack } from './detect-stack.ts'
import { readProfileFile } from './profile-file.ts'
import { openProjectFiles } from './project-files.ts'
import type { ProjectProfile } from './project-profile.ts'

/** The profile of the project in a folder: what its files say, and over it the fields of `.troupe/profile.yaml`. */
export async function loadProjectProfile(folder: string): Promise<ProjectProfile> {
  const edited = await readProfileFile(folder)
  const detected = await detectProjectProfile(folder)
  if (!edited || Object.keys(edited).length === 0) return detected
  return { ...detected, ...edited, source: 'file' }
}

export async function detectProjectProfile(folder: string): Promise<ProjectProfile> {
  const files = await openProjectFiles(folder)
  return {
    ...(await detectStack(files)),
    best_practices: await detectPractices(files),
    architecture_decisions: await detectDecisions(files),
    source: 'detected',
  }
}

/** A profile as the text of `.troupe/profile.yaml`. */
export async function formatProfileFile({ source: _source, ...profile }: ProjectProfile): Promise<string> {
  const { stringify } = await import('yaml')
  return `# The profile of this project: specialists get the parts that matter for a question. A field that is deleted is detected again.\n${stringify(profile, { lineWidth: 120 })}`
}
