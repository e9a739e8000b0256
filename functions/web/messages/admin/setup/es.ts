import type { SetupMessages } from "./en.ts";

export const es: SetupMessages = {
  title: "Configurar esta instalación",
  intro: "Cree la primera organización y la cuenta de su propietario.",
  token: "Token de configuración",
  tokenHint: "npm start lo muestra. En un servidor es el valor de SETUP_TOKEN.",
  tokenWrong: "Este no es el token de esta instalación.",
  owner: "Su cuenta",
  signedInAs: (name: string) => `Ha iniciado sesión como ${name} y será el propietario.`,
  organization: "Organización",
  name: "Nombre de la organización",
  slug: "Nombre corto en las direcciones",
  slugHint: "Minúsculas, cifras y guiones, por ejemplo acme.",
  visibility: "Quién ve el tablero",
  visibilities: { public: "Todos", private: "Solo el equipo" },
  submit: "Crear la organización",
  welcome: "Su tablero está listo",
  welcomeText: "Lo que los equipos hacen después:",
  steps: {
    board: "Ver su tablero",
    general: "Elegir nombre, zona horaria y aprobación",
    apiKeys: "Crear una clave de API para su backend",
    people: "Invitar a su equipo",
    surveys: "Preguntar con una encuesta",
    import: "Traer opiniones de otro lugar",
  },
};
