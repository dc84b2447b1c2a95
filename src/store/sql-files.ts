// Where the schemas of our databases are: in sql/ beside the code of each database. The build copies them into dist/sql/.
import { existsSync } from 'node:fs'

export function sqlFolder(database: 'sqlite' | 'postgres'): URL {
  const places = [`./${database}/sql/`, `./sql/${database}/`, `../sql/${database}/`]
  return places.map((place) => new URL(place, import.meta.url)).find((folder) => existsSync(folder))!
}
