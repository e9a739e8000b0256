import type { GeneralMessages } from "./en.ts";

export const es: GeneralMessages = {
  title: "General",
  board: "Tablero",
  name: "Nombre",
  slug: "Nombre corto",
  slugHint:
    "Se usa en direcciones, como /o/mi-tablero. Si lo cambias, los enlaces anteriores dejan de funcionar.",
  visibility: "Visibilidad",
  visibilityHint:
    "Cuando un tablero pasa a ser privado, quienes no son del equipo pierden el acceso de inmediato.",
  visibilities: {
    public: "Público: todos pueden leerlo",
    private: "Privado: solo el equipo lo ve",
  },
  indexing: "Los buscadores pueden mostrar las páginas",
  indexingHint: "Solo cuenta si el tablero es público.",
  language: "Idioma predeterminado",
  languageHint: "Para quienes no usan ninguno de los ocho idiomas ni en su cuenta ni en su navegador.",
  timeZone: "Zona horaria",
  timeZoneHint: "Según ella empiezan y terminan los días del resumen.",
  participation: "Participación",
  anonymous: "Los usuarios anónimos pueden",
  anonymousHint: "Usuarios a los que una aplicación dio acceso sin cuenta propia.",
  rights: {
    read: "Leer",
    vote: "Leer, votar y seguir",
    participate: "Participar como los demás",
  },
  approval: "El contenido nuevo necesita aprobación",
  approvalHint:
    "Lo que escriben quienes no son del equipo espera en la bandeja hasta que un administrador lo aprueba.",
  trustAfter: "Confiar tras este número de aprobaciones",
  trustAfterHint: "El contenido de ese autor ya no necesita aprobación. De 1 a 1000; vacío para nunca.",
  save: "Guardar",
  done: {
    saved: "La configuración se ha guardado.",
  },
};
